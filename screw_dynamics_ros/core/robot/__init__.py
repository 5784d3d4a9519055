"""The methods of `Robot`, by subject: checked arguments, compiled functions, results to read."""
