"""What a request is answered: the objects it selects, a watch of these, a WhatIf or a StartPreview."""
