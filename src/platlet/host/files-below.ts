import {join} from 'node:path';
import type {FileStatus, Host} from './host.js';

/** Yields everything at and below a path, directories before their content. Symbolic links are not followed. */
export async function* filesBelow(
  host: Pick<Host, 'list' | 'linkStatus'>,
  path: string,
): AsyncGenerator<readonly [path: string, status: FileStatus]> {
  const waiting = [path];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const status = await host.linkStatus(next);
    if (!status) continue;
    yield [next, status];
    if (status.kind === 'folder') for (const name of (await host.list(next)).toReversed()) waiting.push(join(next, name));
  }
}
