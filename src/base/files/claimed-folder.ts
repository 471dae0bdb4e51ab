import {once} from 'node:events';
import {statSync} from 'node:fs';
import {createServer} from 'node:net';
import type {Clock} from '#src/base/clock.js';
import {confineErrors} from '#src/base/emitters/confined.js';

/** The length of the names, the system's maximum: releases of Node.js pad shorter ones differently. */
const nameLength = 108;

/**
 * Claims a folder for a purpose: no other process on this machine can have the claim at the same time, wherever the
 * folder is mounted and whatever becomes of the files in it, and the system releases it with the process. Returns
 * `taken` if it has been claimed, and undefined where the system has no such claims.
 */
export const claimFolder = async (path: string, purpose: string, clock: Pick<Clock, 'hold'>): Promise<Disposable | 'taken' | undefined> => {
  if (process.platform !== 'linux') return undefined;
  const {dev, ino} = statSync(path);
  const server = confineErrors(createServer(socket => confineErrors(socket).destroy()));
  using _ = clock.hold();
  try {
    server.listen(`\0${purpose}/${dev}/${ino}/`.padEnd(nameLength, '.'));
    await once(server, 'listening');
  } catch (error) {
    // A sandbox may refuse such sockets.
    return (error as NodeJS.ErrnoException).code === 'EADDRINUSE' ? 'taken' : undefined;
  }
  server.unref();
  return {[Symbol.dispose]: () => void server.close()};
};
