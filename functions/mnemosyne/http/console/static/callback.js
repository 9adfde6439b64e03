// Runs in the window of the log-in: sends the answer to the console and closes the window.
const channel = new BroadcastChannel("mnemosyne-log-in");
channel.postMessage(Object.fromEntries(new URLSearchParams(location.search)));
channel.close();
window.close();
