"""`python -m stemma`."""

from stemma.environment import quiet_environment


def main() -> None:
    """Run the command line."""
    quiet_environment()
    from stemma.cli import run

    run()


if __name__ == "__main__":
    main()
