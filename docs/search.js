// An option is searched for as it is written: without this, a leading hyphen excludes the word behind it.
document.addEventListener(
  "input",
  (event) => {
    const field = event.target;
    if (field.matches?.("[data-md-component='search-query']")) {
      const plain = field.value.replace(/(^|\s)-+(?=\w)/g, "$1");
      if (plain !== field.value) field.value = plain;
    }
  },
  true,
);
