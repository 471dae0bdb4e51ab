// Opens a link that is a secret in the browser of a desktop. Arguments of programs are visible to all users of a
// machine, so the program is given a file, which only this user can read, that leads to the link.

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {confineErrors} from '#src/base/emitters/confined.js';

const openers: Partial<Record<NodeJS.Platform, string>> = {darwin: 'open', linux: 'xdg-open', freebsd: 'xdg-open', openbsd: 'xdg-open'};

/** Opens a link. The file that leads to it is removed when `stopping` aborts. Rejects where no program opens links. */
export const openInBrowser = async (link: string, stopping: AbortSignal, opener = openers[process.platform]): Promise<void> => {
  if (opener === undefined) throw new Error('--open: this platform has no known program that opens links; use the printed one');
  const folder = mkdtempSync(join(tmpdir(), 'plat-console-'));
  stopping.addEventListener('abort', () => rmSync(folder, {recursive: true, force: true}), {once: true});
  const file = join(folder, 'open.html');
  writeFileSync(file, `<!doctype html><meta http-equiv="refresh" content="0;url=${link}"><a href="${link}">plat console</a>\n`, {
    mode: 0o600,
  });
  const child = confineErrors(spawn(opener, [file], {stdio: 'ignore', detached: true}));
  try {
    await once(child, 'spawn');
  } catch (cause) {
    throw new Error(`--open: cannot run ${opener}; use the printed link`, {cause});
  }
  child.unref();
};
