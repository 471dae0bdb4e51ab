const badEscape = /%(?![0-9A-Fa-f]{2})/;

/**
 * Whether Go takes a text for the target of a request: it refuses bad escapes in the path, of either version of HTTP,
 * and leaves the query alone.
 */
export const isRequestTarget = (target: string): boolean => {
  if (!target.includes('%')) return true;
  const query = target.indexOf('?');
  return !badEscape.test(query < 0 ? target : target.slice(0, query));
};
