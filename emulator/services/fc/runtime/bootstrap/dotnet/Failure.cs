using System;
using System.Collections.Generic;
using System.Reflection;

namespace Localyun
{
    /// <summary>What a caller gets of a failure: its message, its type and the frames of user code.</summary>
    public sealed class Failure
    {
        private readonly Exception _cause;

        /// <summary>Take off what reflection has put around the exception of user code.</summary>
        public Failure(Exception thrown)
        {
            _cause = thrown;
            while (_cause is TargetInvocationException && _cause.InnerException != null)
            {
                _cause = _cause.InnerException;
            }
        }

        public byte[] Json()
        {
            return JsonText.Write(new Dictionary<string, object>
            {
                { "errorMessage", _cause.Message },
                { "errorType", _cause.GetType().FullName },
                { "stackTrace", Frames() },
            });
        }

        public string Text()
        {
            return _cause.GetType().FullName + ": " + _cause.Message + string.Concat(Frames().ConvertAll(f => "\n   " + f));
        }

        private List<string> Frames()
        {
            List<string> frames = new List<string>();
            foreach (string line in (_cause.StackTrace ?? "").Split('\n'))
            {
                string frame = line.Trim();
                if (frame.StartsWith("at Localyun.", StringComparison.Ordinal))
                {
                    break;
                }
                if (frame.Length > 0)
                {
                    frames.Add(frame);
                }
            }
            return frames;
        }
    }
}
