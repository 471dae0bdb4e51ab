/** Whether an absolute path is a folder or below it. Neither ends in a slash, unless the folder is the root. */
export const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
