"""What was used over time, as rows and reports: by group and namespace in a month, and by requester of late."""
