/** Unescapes a part of a JSON pointer (RFC 6901). */
export const unescaped = (part: string): string => part.replaceAll(/~[01]/g, escape => (escape === '~1' ? '/' : '~'));
