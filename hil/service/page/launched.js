// After a launch from a course page: keeps for this tab the token that the lab gave, and opens the arm's page.
const { token, page, exercise } = document.body.dataset;
sessionStorage.setItem("token", token);
sessionStorage.setItem("exercise", exercise);
// Whoever sat at this tab before may have stood beside the arm.
sessionStorage.removeItem("on_site");
location.replace(new URL(page, document.baseURI));
