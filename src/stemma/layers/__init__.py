"""Parts of networks that families share."""
