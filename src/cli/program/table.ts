/** Returns the lines of rows in columns, with a header. Columns are at least as wide as given. */
export const columns = (header: readonly string[], rows: readonly (readonly string[])[], leastWidth = 0): string[] => {
  const widths = header.map((title, index) => Math.max(leastWidth, title.length, ...rows.map(row => row[index]!.length)));
  return [header, ...rows].map(row =>
    row
      .map((cell, index) => cell.padEnd(widths[index]!))
      .join('   ')
      .trimEnd(),
  );
};
