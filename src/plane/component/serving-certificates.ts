import {join} from 'node:path';
import {type Files, systemFiles} from '#src/base/files/files.js';
import {openServingCertificates, type ServingFiles} from './serving-files.js';
import type {ServingCertificates} from '#src/serving/certificates/serving-certificates.js';

/** The certificates of a component's own port. Without a certificate directory a self-signed one is kept in memory. */
export const componentCertificates = ({options, ...rest}: Omit<ServingFiles, 'files'>): Promise<ServingCertificates> =>
  openServingCertificates({
    ...rest,
    options: options.certDir ? options : {...options, certDir: memoryFolder},
    files: options.certDir ? systemFiles : withMemoryFolder(systemFiles),
  });

/** A directory that cannot exist on disk. */
const memoryFolder = '/dev/null/memory';

/** The machine's files, with a directory in memory for this process. */
const withMemoryFolder = (files: Files): Files => {
  const kept = new Map<string, {readonly content: Buffer; readonly version: number}>();
  const isKept = (path: string) => path === memoryFolder || path.startsWith(join(memoryFolder, '/'));
  let versions = 0;
  return {
    read: async path => (isKept(path) ? kept.get(path)?.content : files.read(path)),
    write: async (path, content, mode) =>
      isKept(path) ? void kept.set(path, {content: Buffer.from(content), version: ++versions}) : files.write(path, content, mode),
    stamp: path => (isKept(path) ? String(kept.get(path)?.version ?? '') : files.stamp(path)),
    foldersIn: path => files.foldersIn(path),
    makeFolder: path => files.makeFolder(path),
    removeFolder: path => files.removeFolder(path),
    watch: (folder, changed) => (isKept(folder) ? {[Symbol.dispose]() {}} : files.watch(folder, changed)), // Files are also polled by their users.
  };
};
