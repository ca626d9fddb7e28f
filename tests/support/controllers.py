"""Every kind of controller, as rigs are read with them: bundled rigs are of several kinds."""

from __future__ import annotations

from drivers import rv2aj, ssc32

CONTROLLERS = {"rv2aj": rv2aj.settings_from_table, "ssc32": ssc32.settings_from_table}
