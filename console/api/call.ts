// Calls of the API server, through the console's own server.

import {exponential} from '#src/base/backoff.js';

/** A refusal, in the words of the server. */
export class ApiError extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, message: string, reason = '') {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

let csrf = '';

/** Sets what tells requests of this page from those of others. */
export const useSecret = (secret: string): void => {
  csrf = secret;
};

export interface CallOptions {
  readonly method?: string;
  readonly accept?: string;
  readonly body?: string;
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
}

/** Returns the response of a request that succeeds. Throws an `ApiError` with the message of the server otherwise. */
export const respond = async (path: string, options: CallOptions = {}): Promise<Response> => {
  const {method = 'GET', accept = 'application/json', body, contentType = 'application/json', signal} = options;
  const response = await fetch(path, {
    method,
    headers: {
      accept,
      ...(method === 'GET' ? {} : {'x-plat-console': csrf}),
      ...(body === undefined ? {} : {'content-type': contentType}),
    },
    ...(body === undefined ? {} : {body}),
    ...(signal ? {signal} : {}),
    credentials: 'same-origin',
    redirect: 'error',
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'the console does not answer: it was stopped, or the connection is gone');
  });
  if (response.ok) return response;
  const text = await response.text();
  let message = text.trim() || response.statusText;
  let reason = '';
  try {
    const status = JSON.parse(text) as {message?: string; reason?: string};
    message = status.message ?? message;
    reason = status.reason ?? '';
  } catch {
    // Not a Status: the text says it.
  }
  throw new ApiError(response.status, message, reason);
};

export const call = async <T>(path: string, options?: CallOptions): Promise<T> => (await (await respond(path, options)).json()) as T;

/** Whether a failure may pass: that of a connection, or of a server that is busy or ill. */
export const mayPass = (error: unknown): boolean =>
  !(error instanceof ApiError) || error.status === 0 || error.status === 429 || error.status >= 500;

/** How long is waited before what failed so many times in a row is tried again, for as long as it is shown. */
export const retryDelay = exponential(2000, 30_000);

/** How long is waited before what failed is tried again while somebody waits for it. */
const againMs = [300, 1200];

/** Returns the result of a task, which is tried again where its failure may pass. */
export const persistently = async <T>(run: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
  for (const wait of againMs)
    try {
      return await run();
    } catch (error) {
      if (signal?.aborted || !mayPass(error)) throw error;
      await new Promise(resolve => setTimeout(resolve, wait));
    }
  return run();
};

/** Runs tasks, some at a time, and returns their results in order. */
export const together = async <T, R>(items: readonly T[], run: (item: T) => Promise<R>, most = 5): Promise<R[]> => {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await run(items[at]!);
  };
  await Promise.all(Array.from({length: Math.min(most, items.length)}, worker));
  return results;
};
