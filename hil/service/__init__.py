"""One arm shared by a lab: server, client, wire protocol, roles, tokens, lease, bookings, audit."""
