import type {Client} from '#src/client/client.js';
import {inProcessClient} from '#src/client/in-process.js';
import type {startWorld} from './world.js';
import {words} from './world.js';

/** What the server warns of while it answers. */
export const warningsOf = async ({server}: Awaited<ReturnType<typeof startWorld>>, act: (client: Client) => Promise<unknown>): Promise<string[]> => {
  const heard: string[] = [];
  const client = inProcessClient(
    async request => {
      const response = await server.handler(request);
      const header = Object.entries(response.headers).find(([name]) => name.toLowerCase() === 'warning')?.[1];
      for (const text of header === undefined ? [] : [header].flat()) heard.push(JSON.parse(text.slice('299 - '.length)) as string);
      return response;
    },
    {naming: words, user: {name: 'x', groups: ['system:masters']}, userAgent: 'test'},
  );
  await act(client);
  return heard;
};
