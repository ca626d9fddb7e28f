// What the scene and the wall say, in each of the page's languages; see `words.js`. No DOM here.

const en = {
  exaggerated: "error ×10", notice_message: "message", parted: "Command and report have parted: {0}", not_there: "The arm is not there: {0}", no_pose: "Where the arm is, is not known",
  wall: "Wall", wall_title: "All arms", yes: "Yes", no: "No", all_freeze: "Freeze all: hold", all_thaw: "Thaw all", take: "Take over", tell: "Message", tell_ask: "To whoever is at {0}:",
  take_ask: "Take {0} from {1}? The arm holds first.", drives_now: "drives: {0}", nobody: "nobody drives", left_time: "{0} left",
  queue_of: "queue: {0}", error_of: "{0} {1} of {2}", error_none: "error not known", next_hour: "Next hour", nothing_booked: "nothing booked in the next hour",
  booked_by: "{0} to {1}: {2}", comes_up: "starting, {0} s", wall_help: "Keys 1 to 9 go to an arm's cell; Esc stops the arm in it, everywhere else all of them.",
  done_to: "{0}: done", old_for: "nothing new for {0} s",
};

const de = {
  exaggerated: "Fehler ×10", notice_message: "Nachricht", parted: "Befehl und Meldung gehen auseinander: {0}", not_there: "Der Arm ist nicht da: {0}", no_pose: "Wo der Arm ist, ist nicht bekannt",
  wall: "Wand", wall_title: "Alle Arme", yes: "Ja", no: "Nein", all_freeze: "Alle sperren: halten", all_thaw: "Alle freigeben", take: "Übernehmen", tell: "Nachricht", tell_ask: "An alle bei {0}:",
  take_ask: "{0} von {1} übernehmen? Der Arm hält zuerst.", drives_now: "steuert: {0}", nobody: "niemand steuert", left_time: "noch {0}",
  queue_of: "Warteschlange: {0}", error_of: "{0} {1} von {2}", error_none: "Fehler nicht bekannt", next_hour: "Nächste Stunde", nothing_booked: "in der nächsten Stunde nichts gebucht",
  booked_by: "{0} bis {1}: {2}", comes_up: "startet, {0} s", wall_help: "Die Tasten 1 bis 9 gehen zum Feld eines Arms; Esc hält den Arm darin an, sonst alle.",
  done_to: "{0}: erledigt", old_for: "seit {0} s nichts Neues",
};

const es = {
  exaggerated: "error ×10", notice_message: "mensaje", parted: "Lo enviado y lo notificado se separan: {0}", not_there: "El brazo no está: {0}", no_pose: "No se sabe dónde está el brazo",
  wall: "Muro", wall_title: "Todos los brazos", yes: "Sí", no: "No", all_freeze: "Bloquear todos: mantener", all_thaw: "Desbloquear todos", take: "Tomar el mando", tell: "Mensaje", tell_ask: "A quien esté en {0}:",
  take_ask: "¿Tomar {0} de {1}? Primero se detiene.", drives_now: "conduce: {0}", nobody: "nadie conduce", left_time: "quedan {0}",
  queue_of: "cola: {0}", error_of: "{0} {1} de {2}", error_none: "error desconocido", next_hour: "Próxima hora", nothing_booked: "nada reservado en la próxima hora",
  booked_by: "{0} a {1}: {2}", comes_up: "arrancando, {0} s", wall_help: "Las teclas 1 a 9 van a la celda de un brazo; Esc detiene ese brazo, y fuera de ellas todos.",
  done_to: "{0}: hecho", old_for: "nada nuevo desde hace {0} s",
};

const fr = {
  exaggerated: "erreur ×10", notice_message: "message", parted: "Envoyé et signalé divergent : {0}", not_there: "Le bras n'est pas là : {0}", no_pose: "La position du bras est inconnue",
  wall: "Mur", wall_title: "Tous les bras", yes: "Oui", no: "Non", all_freeze: "Tout bloquer : maintenir", all_thaw: "Tout débloquer", take: "Reprendre", tell: "Message", tell_ask: "À qui est devant {0} :",
  take_ask: "Reprendre {0} à {1} ? Le bras s'arrête d'abord.", drives_now: "pilote : {0}", nobody: "personne ne pilote", left_time: "encore {0}",
  queue_of: "file : {0}", error_of: "{0} {1} sur {2}", error_none: "erreur inconnue", next_hour: "Prochaine heure", nothing_booked: "rien de réservé dans l'heure",
  booked_by: "{0} à {1} : {2}", comes_up: "démarre, {0} s", wall_help: "Les touches 1 à 9 vont à la case d'un bras ; Échap arrête ce bras, ailleurs tous.",
  done_to: "{0} : fait", old_for: "rien de nouveau depuis {0} s",
};

export const SCENE = { en, de, es, fr };
