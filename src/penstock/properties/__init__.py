"""What must hold: properties, observed along every execution."""
