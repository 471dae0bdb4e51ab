import {render} from 'preact';
import {messageOf} from '#src/base/message.js';
import {ApiError} from '#page/api/call.js';
import {readKinds} from '#page/api/kinds.js';
import {beginSession} from '#page/api/session.js';
import {App} from '#page/shell/app.js';
import {beginTheme} from '#page/shell/theme.js';

function Refused({error}: {readonly error: unknown}) {
  const hasNoSession = error instanceof ApiError && error.status === 401;
  return (
    <main class="refused">
      <h1>plat console</h1>
      {hasNoSession ? (
        <p>
          This browser has no session, or it is over. A link opens the page once: run <code>plat console</code> for a new one.
        </p>
      ) : (
        <p>{messageOf(error)}</p>
      )}
    </main>
  );
}

const begin = async (): Promise<void> => {
  beginTheme();
  try {
    const session = await beginSession();
    await readKinds();
    render(<App session={session} />, document.body);
  } catch (error) {
    render(<Refused error={error} />, document.body);
  }
};

void begin();
