import {messageOf} from '#src/base/message.js';
import type {HttpGet, HttpGetRequest} from './http.js';
import {failure, success, type ProbeOutcome} from './outcome.js';

const maxRedirects = 10;

/** Returns the location of a redirect; undefined if the response is none. */
const locationOf = (url: URL, status: number, location: string | undefined): URL | undefined => {
  if (![301, 302, 303, 307, 308].includes(status) || !location) return undefined;
  return URL.canParse(location, url.href) ? new URL(location, url.href) : undefined;
};

/** Probes by an HTTP request. Redirects are followed on the same host; others count as a success with a warning. */
export const probeHttp = async (get: HttpGet, request: HttpGetRequest): Promise<ProbeOutcome> => {
  let url: URL = request.url;
  for (let redirects = 0; ; redirects++) {
    let response;
    try {
      response = await get({...request, url});
    } catch (error) {
      return failure(messageOf(error));
    }
    const {status, headers, body} = response;
    const next = locationOf(url, status, headers.location);
    if (next && next.hostname !== request.url.hostname)
      return {result: 'success', isWarning: true, output: `Probe terminated redirects, Response body: ${body}`};
    if (next && redirects >= maxRedirects) return failure(`Get ${JSON.stringify(next.href)}: stopped after 10 redirects`);
    if (next) {
      url = next;
      continue;
    }
    return status >= 200 && status < 400 ? success(body) : failure(`HTTP probe failed with statuscode: ${status}`);
  }
};
