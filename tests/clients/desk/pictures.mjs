// What docs/desk.md shows; `PICTURES` names another folder.

export async function pictures() {}
