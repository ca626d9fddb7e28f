// What the page says of exercises, in each of its languages; see `words.js`. No DOM here.

const en = {
  courses: "Exercises", exercise: "Exercise", hand_files: "Hand in files", hand_text: "Hand in what is written under “Tasks”",
  hand_run: "Hand in my last run on {0}", hand_marking: "It is being marked …", hand_long: "Together the files may have 700 kB.",
  hand_nothing: "Nothing is written under “Tasks” yet.", course_until: "until {0}", course_tries: "{0} of {1} tries used",
  course_numbers: "Your numbers: {0}", course_marks: "{0} of {1} marks", course_sample: "sample {0}, {1} s", course_refused: "not marked",
  course_counts: "(counts)", course_files: "files", course_nothing: "Nothing was handed in yet.", course_student: "Student",
  course_picture: "The tool's way from above and from the side; a cross where it failed", course_class: "Marks of the class",
  course_tables: "Marks of this exercise as a file:", course_handed: "Handed in",
};

const de = {
  courses: "Übungen", exercise: "Übung", hand_files: "Dateien abgeben", hand_text: "Abgeben, was unter „Aufgaben“ steht",
  hand_run: "Meine letzte Fahrt auf {0} abgeben", hand_marking: "Wird bewertet …", hand_long: "Zusammen dürfen die Dateien 700 kB haben.",
  hand_nothing: "Unter „Aufgaben“ steht noch nichts.", course_until: "bis {0}", course_tries: "{0} von {1} Versuchen verbraucht",
  course_numbers: "Deine Zahlen: {0}", course_marks: "{0} von {1} Punkten", course_sample: "Stützstelle {0}, {1} s", course_refused: "nicht bewertet",
  course_counts: "(zählt)", course_files: "Dateien", course_nothing: "Es wurde noch nichts abgegeben.", course_student: "Name",
  course_picture: "Weg des Werkzeugs von oben und von der Seite; ein Kreuz, wo es misslang", course_class: "Punkte der Klasse",
  course_tables: "Punkte dieser Übung als Datei:", course_handed: "Abgegeben",
};

const es = {
  courses: "Ejercicios", exercise: "Ejercicio", hand_files: "Entregar archivos", hand_text: "Entregar lo escrito en «Tareas»",
  hand_run: "Entregar mi último recorrido en {0}", hand_marking: "Se está corrigiendo …", hand_long: "Los archivos pueden tener 700 kB en total.",
  hand_nothing: "En «Tareas» aún no hay nada escrito.", course_until: "hasta {0}", course_tries: "{0} de {1} intentos usados",
  course_numbers: "Tus números: {0}", course_marks: "{0} de {1} puntos", course_sample: "muestra {0}, {1} s", course_refused: "sin corregir",
  course_counts: "(cuenta)", course_files: "archivos", course_nothing: "Aún no se ha entregado nada.", course_student: "Nombre",
  course_picture: "Camino de la herramienta desde arriba y de lado; una cruz donde falló", course_class: "Puntos de la clase",
  course_tables: "Puntos de este ejercicio en un archivo:", course_handed: "Entregado",
};

const fr = {
  courses: "Exercices", exercise: "Exercice", hand_files: "Rendre des fichiers", hand_text: "Rendre ce qui est écrit sous « Tâches »",
  hand_run: "Rendre ma dernière course sur {0}", hand_marking: "Correction en cours …", hand_long: "Les fichiers peuvent faire 700 ko en tout.",
  hand_nothing: "Rien n'est encore écrit sous « Tâches ».", course_until: "jusqu'au {0}", course_tries: "{0} essais sur {1} utilisés",
  course_numbers: "Tes nombres : {0}", course_marks: "{0} points sur {1}", course_sample: "échantillon {0}, {1} s", course_refused: "pas corrigé",
  course_counts: "(compte)", course_files: "fichiers", course_nothing: "Rien n'a encore été rendu.", course_student: "Nom",
  course_picture: "Chemin de l'outil vu d'en haut et de côté ; une croix où il a échoué", course_class: "Points de la classe",
  course_tables: "Points de cet exercice en fichier :", course_handed: "Rendu",
};

export const COURSES = { en, de, es, fr };
