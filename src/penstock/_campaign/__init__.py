"""Campaigns: check, verify and fuzz over many apps, configurations, topologies and seeds.

`sources.py` finds what there is to run, `plan.py` makes jobs of it, `job.py` does one, `crew.py` has
several done side by side, `store.py` keeps what came of them, `comparison.py` holds that against the last
campaign, `page.py` shows it, and `campaign.py` is the loop around all of it.
"""
