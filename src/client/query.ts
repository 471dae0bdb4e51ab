/** Returns a path with a query; undefined values are omitted. */
export const withQuery = (path: string, query: Readonly<Record<string, string | number | boolean | undefined>>): string => {
  let text = '';
  for (const key in query) {
    const value = query[key];
    if (value !== undefined) text += `${text ? '&' : ''}${encodeURIComponent(key)}=${encodeURIComponent(value)}`;
  }
  if (!text) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${text}`;
};
