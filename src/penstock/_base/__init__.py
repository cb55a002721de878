"""What every floor stands on: files, text, what users write, and how their code is found and run."""
