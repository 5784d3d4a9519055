"""What the tables of pages are made by: modules with `TABLES`; `tools/pages.py` writes them."""
