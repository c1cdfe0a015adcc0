"use strict";
// Keeps the page as fresh as the server: asks again, and puts in what has changed. What is open stays open.
const PAUSE = 2000;
const link = document.getElementById("link");

async function fresh() {
  if (document.hidden || window.getSelection().toString() !== "") return;
  const answer = await fetch(location.href, {headers: {Accept: "text/html"}, redirect: "error"});
  if (answer.status >= 500) throw new Error(answer.statusText);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const main = document.querySelector("main");
  const next = page.querySelector("main");
  for (const open of main.querySelectorAll("details[open]")) {
    const same = next.querySelector("#" + open.id);
    if (same) same.open = true;
  }
  if (main.innerHTML !== next.innerHTML) main.replaceWith(document.adoptNode(next));
  document.title = page.title;
}

async function run() {
  try {
    await fresh();
    link.textContent = "";
  } catch {
    link.textContent = "not connected: what you see is from before";
  }
  setTimeout(run, PAUSE);
}

setTimeout(run, PAUSE);
