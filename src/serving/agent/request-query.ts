const malformedEscape = /%(?![0-9a-f]{2})/i;

/**
 * Returns the parameters of the query of a URL. Those with a raw semicolon or a malformed escape are left out, as in
 * the original.
 */
export const queryOf = (search: string): URLSearchParams =>
  new URLSearchParams(
    search
      .split('&')
      .filter(pair => !pair.includes(';') && !malformedEscape.test(pair))
      .join('&'),
  );
