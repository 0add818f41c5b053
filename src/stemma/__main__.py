"""`python -m stemma`."""

from stemma.environment import quiet_environment
from stemma.fence import die_with_parent


def main() -> None:
    """Run the command line."""
    die_with_parent()  # before the slow imports, so that a killed `dvc repro` leaves nothing behind
    quiet_environment()
    from stemma.cli import run

    run()


if __name__ == "__main__":
    main()
