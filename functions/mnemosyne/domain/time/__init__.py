"""What people say of time, and the spans it means. Pure."""
