"""What a request is answered: the objects it selects, a watch of these, or a WhatIf."""
