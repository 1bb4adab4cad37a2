"""What people read: failures, tables, side-by-side values."""
