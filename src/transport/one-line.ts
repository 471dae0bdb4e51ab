import {firstError} from '#src/base/message.js';

const plain: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EISDIR: 'is a directory',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by peer',
  ENOTFOUND: 'no such host',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'connection timed out',
  EPIPE: 'broken pipe',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  UND_ERR_HEADERS_TIMEOUT: 'timeout awaiting response headers',
  UND_ERR_BODY_TIMEOUT: 'timeout awaiting the response body',
};

/** The essence of an error in one line, without paths and addresses that the context of the line contains. */
export const oneLine = (failure: unknown): string => {
  const error = firstError(failure);
  if (!(error instanceof Error)) return String(error);
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return plain[code] ?? (error.message.split('\n', 1)[0] || code || error.name);
};
