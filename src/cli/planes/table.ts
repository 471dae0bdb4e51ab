/** Formats rows in columns, with a header. */
export const columns = (header: readonly string[], rows: readonly (readonly string[])[]): string => {
  const widths = header.map((title, index) => Math.max(title.length, ...rows.map(row => row[index]!.length)));
  return [header, ...rows]
    .map(row =>
      row
        .map((cell, index) => cell.padEnd(widths[index]!))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
};
