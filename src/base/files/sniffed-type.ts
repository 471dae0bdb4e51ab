/** How much of a file its type is recognized by. */
export const sniffedBytes = 512;

/** Returns the media type of a file by its first bytes. Never one that a browser runs. */
export const sniffedType = (start: Buffer): string => {
  if (start[0] === 0x1f && start[1] === 0x8b) return 'application/x-gzip';
  const isBinary = start.some(byte => byte < 0x20 && ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte));
  return isBinary ? 'application/octet-stream' : 'text/plain; charset=utf-8';
};
