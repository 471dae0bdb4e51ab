import {chmod, rm} from 'node:fs/promises';
import http from 'node:http';
import {confineServer} from '#src/serving/http1/server.js';
import type {RequestHandler} from './listener.js';

/**
 * Serves plain HTTP/1.1 on a Unix socket, which only the process's own user may open. An existing file is replaced.
 * Rejects with an error of one line that names the flag.
 */
export const listenOnSocket = async (path: string, handler: RequestHandler, flag = '--debug-socket-path'): Promise<AsyncDisposable> => {
  const server = confineServer(http.createServer({requireHostHeader: false}), handler).on('request', (request, response) =>
    handler.http1(request, response),
  );
  try {
    await rm(path, {force: true});
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
    await chmod(path, 0o600);
  } catch (cause) {
    server.close();
    throw new Error(`${flag}: cannot listen on ${path}: ${(cause as Error).message}`, {cause});
  }
  return {
    async [Symbol.asyncDispose]() {
      await new Promise(resolve => {
        server.close(resolve);
        server.closeAllConnections();
      });
      await rm(path, {force: true});
    },
  };
};
