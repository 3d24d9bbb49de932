"""The numbers of every group: request and charge from the leaves up, runtime from root down."""
