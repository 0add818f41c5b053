"""May this model replace that one?"""
