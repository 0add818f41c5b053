"""What models are asked, and how their answers are scored."""
