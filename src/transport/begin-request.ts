import {request, type ClientRequest, type IncomingMessage} from 'node:http';
import {confineErrors} from '#src/base/emitters/confined.js';

/** Begins a request over HTTP/1.1 as Node does. An error in an event of it or of its response ends the request. */
export const beginRequest = ((...given: Parameters<typeof request>): ClientRequest =>
  confineErrors(request(...given)).prependListener('response', (answer: IncomingMessage) => void confineErrors(answer))) as typeof request;
