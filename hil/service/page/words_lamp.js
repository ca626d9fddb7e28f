// How an arm is, in one word or two: the same on the page, on the wall and in the window (`hil/dashboard/texts.py`),
// in each of the page's languages; see `lamp.js`. No DOM here.

const en = {
  lamp_off: "no connection", lamp_waiting: "waiting", lamp_old: "old", lamp_away: "away",
  lamp_starting: "starting", lamp_unknown: "pose unknown", lamp_ready: "ready", lamp_armed: "armed",
  lamp_moving: "moving", lamp_alarm: "error alarm", lamp_frozen: "frozen", lamp_latched: "stop latched",
  lamp_fault: "fault", lamp_estop: "software stop",
};

const de = {
  lamp_off: "keine Verbindung", lamp_waiting: "wartet", lamp_old: "alt", lamp_away: "nicht da",
  lamp_starting: "startet", lamp_unknown: "Lage unbekannt", lamp_ready: "bereit", lamp_armed: "scharf",
  lamp_moving: "fährt", lamp_alarm: "Fehleralarm", lamp_frozen: "eingefroren", lamp_latched: "Stopp sitzt",
  lamp_fault: "Störung", lamp_estop: "Software-Stopp",
};

const es = {
  lamp_off: "sin conexión", lamp_waiting: "esperando", lamp_old: "antiguo", lamp_away: "no está",
  lamp_starting: "arrancando", lamp_unknown: "posición desconocida", lamp_ready: "listo", lamp_armed: "armado",
  lamp_moving: "en movimiento", lamp_alarm: "alarma de error", lamp_frozen: "bloqueado", lamp_latched: "enclavado",
  lamp_fault: "fallo", lamp_estop: "parada por software",
};

const fr = {
  lamp_off: "pas de connexion", lamp_waiting: "attend", lamp_old: "ancien", lamp_away: "absent",
  lamp_starting: "démarre", lamp_unknown: "position inconnue", lamp_ready: "prêt", lamp_armed: "armé",
  lamp_moving: "en mouvement", lamp_alarm: "alarme d'erreur", lamp_frozen: "bloqué", lamp_latched: "verrouillé",
  lamp_fault: "défaut", lamp_estop: "arrêt logiciel",
};

export const LAMP = { en, de, es, fr };
