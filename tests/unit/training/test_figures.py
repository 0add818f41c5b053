"""Curves and numbers as files have them."""

from stemma.training.figures import curve_csv, rounded


def test_a_curve_has_the_columns_that_are_asked_for():
    curve = [{"step": 1, "loss": 2.5, "mlm": 2.0, "other": 9.0}, {"step": 2, "loss": 1.5, "mlm": 1.0, "other": 9.0}]
    assert curve_csv(curve) == "step,loss\n1,2.5\n2,1.5\n"
    assert curve_csv(curve, "mlm") == "step,loss,mlm\n1,2.5,2.0\n2,1.5,1.0\n"


def test_ten_digits_are_kept():
    assert rounded(1 / 3) == 0.3333333333
    assert rounded(123456789.123456) == 123456789.1
