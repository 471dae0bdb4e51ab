/** What browsers lack of Node.js that the checks of labels use: the bundler puts it in its place. */
export const Buffer = {byteLength: (text: string): number => new TextEncoder().encode(text).length};
