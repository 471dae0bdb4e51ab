import type {Client} from '#src/client/client.js';
import {inProcessClient} from '#src/client/in-process.js';
import type {startEnvironment} from './environment.js';
import {words} from './environment.js';

/** The warnings of the server while it answers. */
export const warningsOf = async (
  {server}: Awaited<ReturnType<typeof startEnvironment>>,
  act: (client: Client) => Promise<unknown>,
): Promise<string[]> => {
  const received: string[] = [];
  const client = inProcessClient(
    async request => {
      const response = await server.handler(request);
      const header = Object.entries(response.headers).find(([name]) => name.toLowerCase() === 'warning')?.[1];
      for (const text of header === undefined ? [] : [header].flat()) received.push(JSON.parse(text.slice('299 - '.length)) as string);
      return response;
    },
    {naming: words, user: {name: 'x', groups: ['system:masters']}, userAgent: 'test'},
  );
  await act(client);
  return received;
};
